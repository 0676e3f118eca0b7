"""What is right, and what goes wrong, in `find_neuron` of notebook 11."""

from __future__ import annotations

import numpy as np

from autograder.keys.key import Key
from ffnlab.course.exercises import real as exercises

find_neuron = Key(exercises.find_neuron)


@find_neuron.truth
def counted_pair_by_pair(loud_with, loud_without):
    """Puts each neuron's differences in order and takes the one in the middle, with plain loops."""
    pairs, neurons = loud_with.shape
    best, best_middle = 0, -1e9
    for n in range(neurons):
        differences = sorted(float(loud_with[pair, n]) - float(loud_without[pair, n]) for pair in range(pairs // 2))
        middle = differences[len(differences) // 2]
        if middle > best_middle:
            best, best_middle = n, middle
    hits = 0
    for pair in range(pairs // 2, pairs):
        if float(loud_with[pair, best]) > float(loud_without[pair, best]) + 1:
            hits += 1
    return best, hits


@find_neuron.right("by a mean without each neuron's largest and smallest difference")
def by_trimmed_mean(loud_with, loud_without):
    half = len(loud_with) // 2
    difference = loud_with - loud_without
    n = int(difference[:half].sort(dim=0).values[1:-1].mean(0).argmax())
    return n, int((difference[half:, n] > 1).sum())


@find_neuron.right("by the pairs that are told apart, and the mean among equals")
def by_count_and_mean(loud_with, loud_without):
    half = len(loud_with) // 2
    difference = loud_with - loud_without
    score = (difference[:half] > 1).sum(0) + difference[:half].clamp(-3, 3).mean(0) * 0.9
    n = score.argmax()
    return n.item(), (difference[half:, n] > 1).sum().item()


@find_neuron.right("in numpy")
def in_numpy(loud_with, loud_without):
    gain = (loud_with - loud_without).numpy()
    middle = gain.shape[0] // 2
    neuron = np.median(gain[:middle], axis=0).argmax()
    return int(neuron), sum(1 for row in gain[middle:] if row[neuron] > 1)


@find_neuron.base
def plain_find_neuron(loud_with, loud_without):
    half = len(loud_with) // 2
    first = loud_with[:half] - loud_without[:half]
    second = loud_with[half:] - loud_without[half:]
    neuron = int(first.median(0).values.argmax())
    hits = int((second[:, neuron] > 1).sum())
    return neuron, hits


find_neuron.slips("""
in neuron = int(first.median(0).values.argmax())
searches_everywhere: neuron = int((loud_with - loud_without).median(0).values.argmax())
    The search has seen the second half too, so the second half can't prove anything any more. Let the neuron be chosen by the first half alone.
searches_the_second_half: neuron = int(second.median(0).values.argmax())
    The neuron is chosen by the second half. That half is for the proof: let the first half search.
loudest: neuron = int(loud_with[:half].mean(0).argmax())
    This is the loudest neuron of the first sentences, and it is as loud in the second ones. Compare the two.
| loudest_once: neuron = int(loud_with[:half].amax(0).argmax())
goes_dark: neuron = int(first.median(0).values.argmin())
    This neuron goes *dark* in the first sentences. The difference is the wrong way round.
largest_change: neuron = int(first.abs().mean(0).argmax())
    The sign is lost in `abs`, so a neuron that goes dark in the first sentences wins. Louder is what you are looking for.
one_pair_decides: neuron = int(first.amax(0).argmax())
    The pair with the largest difference decides, so one odd sentence makes a false neuron win. A mean lets it, too. Give each pair of the half one voice.
| by_mean: neuron = int(first.mean(0).argmax())
| over_all_entries: neuron = int(first.flatten().argmax()) % first.shape[1]
worst_pair_decides: neuron = int(first.amin(0).argmax())
    Each neuron is judged by its worst pair. A good neuron may miss one sentence, and then it is out. Let all pairs of the half have a say.
cut_at_one: neuron = int(first.clamp(-1, 1).mean(0).argmax())
    You cut every difference at 1, so a neuron that nearly reaches 1 in most pairs beats a loud one that misses a pair. Cut later, or not at all.
| cut_at_one_and_zero: neuron = int(first.clamp(0, 1).mean(0).argmax())
no_overlap: neuron = int((loud_with[:half].amin(0) - loud_without[:half].amax(0)).argmax())
    The quietest sentence of one list is compared with the loudest of the other, so one odd sentence throws a good neuron out. Let all pairs have a say.
by_spread: neuron = int((first.mean(0) / (first.std(0) + 1e-6)).argmax())
    You divide by the spread. It is almost nothing for a neuron that whispers the same little difference every time, and so that one wins.
by_ratio: neuron = int((loud_with[:half].mean(0) / (loud_without[:half].mean(0) + 1e-6)).argmax())
    A ratio favours neurons that were nearly silent before, whatever they say now. Take differences.
by_count: neuron = int((first > 0).sum(0).argmax())
    You count pairs in which the neuron is louder, if only by a whisper, so the first neuron that always whispers wins. By *how much* is it louder?
over_neurons: neuron = int(first.mean(1).argmax())
    The mean is taken over the neurons, so what comes out is the number of a pair. For one number for each neuron, go over the pairs, which are dimension 0.
no_argmax: neuron = int(first.median(0).values.max())
    This is how much the best neuron differs. Which neuron is it? `argmax` tells its number.
in hits = int((second[:, neuron] > 1).sum())
proves_where_it_searched: hits = int((first[:, neuron] > 1).sum())
    The neuron is right, but it is proved on the pairs that have found it. The second half is for the proof.
proves_on_all: hits = int(((loud_with - loud_without)[:, neuron] > 1).sum())
    The neuron is right, but the pairs that have found it are counted in its proof. Count the second half alone.
no_limit: hits = int((second[:, neuron] > 0).sum())
    The neuron is right, but a pair counts only if it is louder by more than 1.
share: hits = int((second[:, neuron] > 1).float().mean())
    The neuron is right, but what is asked for is a number of pairs. This is a share of them, made a whole number.
loud_in_the_first: hits = int((loud_with[half:, neuron] > 1).sum())
    The neuron is right, but you count where it is above 1 in the first sentence. Louder by more than 1 *than in the second* is meant.
misses: hits = int((second[:, neuron] <= 1).sum())
    The neuron is right, but you count the pairs in which it fails.
in return neuron, hits
exchanged: return hits, neuron
    The two numbers are exchanged: first the neuron, then the hits.
nothing: pass
    NO_RETURN
""")
