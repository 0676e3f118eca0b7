// @ts-check
// The small Transformer of the little world, as `ToyTransformer` of `ffnlab.course.toy_transformer` computes it: attention that averages, an FFN of 64 neurons, no norm.
// A sentence is a list of T words. Tests hold every number to PyTorch's, 1e-5.
import { bytes } from "./runtime.js";

const D_MODEL = 32;
const D_FF = 64;

/**
 * Weights by name, each in rows as in PyTorch: words [V, 32], places [19, 32], value and output [32, 32], up [64, 32] and up_bias [64],
 * down [32, 64] and down_bias [32], scores [V, 32]. mean [19, 32]: what the FFN adds at each place on average, where that is asked for.
 * @typedef {{vocabulary: string[], weights: Record<string, string>}} CreekData
 */

/** Activations that a hand sets at one position, by neuron. @typedef {{place: number, activations: Record<string, number>}} Lamps */

/** What the FFN is: on, off (it adds nothing), or "mean" (it adds its mean at each place, whatever the words are). @typedef {boolean | "mean"} Ffn */

export class CreekModel {
  /** @param {CreekData} data */
  constructor({ vocabulary, weights }) {
    this.vocabulary = vocabulary;
    this.number = new Map(vocabulary.map((word, n) => [word, n]));
    this.weights = Object.fromEntries(Object.entries(weights).map(([name, text]) => [name, new Float32Array(bytes(text))]));
    this.longest = this.weights.places.length / D_MODEL;
  }

  /** What a word brings to its place: its embedding and the place's. [32]. @param {string} word @param {number} place */
  embedding(word, place) {
    const { words, places } = this.weights;
    const row = D_MODEL * (this.number.get(word.toLowerCase()) ?? 0);
    return Float64Array.from({ length: D_MODEL }, (_, i) => words[row + i] + places[D_MODEL * place + i]);
  }

  /** The residual stream after attention, at every place: T times [32]. @param {string[]} sentence */
  gather(sentence) {
    const sum = new Float64Array(D_MODEL);
    return sentence.map((word, place) => {
      const x = this.embedding(word, place);
      x.forEach((entry, i) => (sum[i] += entry));
      const mean = sum.map((entry) => entry / (place + 1));
      const mixed = product(this.weights.output, product(this.weights.value, mean));
      return x.map((entry, i) => entry + 4 * mixed[i]);
    });
  }

  /** What a word at a place brings to the last place of a sentence: [32]. All words together are the stream there. @param {string} word @param {number} place @param {number} length of the sentence */
  part(word, place, length) {
    const x = this.embedding(word, place);
    const mixed = product(this.weights.output, product(this.weights.value, x));
    return mixed.map((entry, i) => (4 * entry) / length + (place === length - 1 ? x[i] : 0));
  }

  /** What each neuron computes before its ReLU: [64]. @param {Float64Array} x @param {boolean} [bias] */
  reads(x, bias = true) {
    const z = product(this.weights.up, x);
    if (bias) this.weights.up_bias.forEach((entry, n) => (z[n] += entry));
    return z;
  }

  /** Activations: [64]. @param {Float64Array} x */
  hidden(x) {
    return this.reads(x).map((z) => Math.max(z, 0));
  }

  /** What a neuron adds to the score of each word when its activation is 1: [V]. @param {number} neuron */
  writes(neuron) {
    const value = Float64Array.from({ length: D_MODEL }, (_, i) => this.weights.down[D_FF * i + neuron]);
    return product(this.weights.scores, value);
  }

  /** What the FFN adds to the stream at a place: [32]. @param {Float64Array} x @param {number} place @param {Ffn} ffn @param {Lamps} [lamps] */
  added(x, place, ffn, lamps) {
    if (ffn === "mean") return this.weights.mean.subarray(D_MODEL * place, D_MODEL * (place + 1));
    if (!ffn) return new Float64Array(D_MODEL);
    const hidden = this.hidden(x);
    if (lamps && lamps.place === place) for (const [neuron, activation] of Object.entries(lamps.activations)) hidden[Number(neuron)] = activation;
    return product(this.weights.down, hidden).map((entry, i) => entry + this.weights.down_bias[i]);
  }

  /**
   * The probabilities [V] after each word of a sentence, T of them.
   * @param {string[]} sentence @param {Ffn} ffn @param {Lamps} [lamps]
   */
  read(sentence, ffn, lamps) {
    return this.gather(sentence).map((x, place) => this.answer(x, place, ffn, lamps));
  }

  /** The probabilities [V] after the last word of a sentence. @param {string[]} sentence @param {Ffn} ffn @param {Lamps} [lamps] */
  after(sentence, ffn, lamps) {
    return this.answer(/** @type {Float64Array} */ (this.gather(sentence).pop()), sentence.length - 1, ffn, lamps);
  }

  /** The probabilities [V] at one place, from the stream after attention. @param {Float64Array} x @param {number} place @param {Ffn} ffn @param {Lamps} [lamps] */
  answer(x, place, ffn, lamps) {
    const added = this.added(x, place, ffn, lamps);
    return softmax(product(this.weights.scores, x.map((entry, i) => entry + added[i])));
  }

  /**
   * Lets the model go on with a sentence, always with the most probable word, up to a full stop or until there is no more room.
   * @param {string[]} sentence @param {Ffn} ffn @param {Lamps} [lamps]
   */
  write(sentence, ffn, lamps) {
    const words = [...sentence];
    const steps = [];
    while (words.length <= this.longest && words[words.length - 1] !== ".") {
      const [best, second] = this.likely(this.after(words, ffn, lamps), 2);
      steps.push({ word: best.word, share: best.share, other: second.word, otherShare: second.share });
      words.push(best.word);
    }
    return steps;
  }

  /** The most probable words. @param {Float64Array} chances [V] @param {number} count */
  likely(chances, count) {
    const order = [...chances.keys()].sort((a, b) => chances[b] - chances[a]).slice(0, count);
    return order.map((n) => ({ word: this.vocabulary[n], share: chances[n] }));
  }
}

/** A matrix in rows times a vector. @param {Float32Array} matrix @param {Float64Array} vector */
function product(matrix, vector) {
  const columns = vector.length;
  const result = new Float64Array(matrix.length / columns);
  for (let row = 0; row < result.length; row++) {
    let sum = 0;
    for (let column = 0; column < columns; column++) sum += matrix[row * columns + column] * vector[column];
    result[row] = sum;
  }
  return result;
}

/** @param {Float64Array} scores */
function softmax(scores) {
  const highest = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - highest));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((power) => power / sum);
}
