"""Reference outputs: what the right answer and every known mistake do on drawn inputs. With them a judge needs neither the keys nor their answers.

How they are made. An exercise draws its inputs from seeds. `draws` makes the seeds: public ones from the exercise's name, hidden ones from the secret
of a class. `compute` runs the truth and the mistakes of a key on these inputs and observes them. That takes seconds for an exercise, so it happens once
for each set of draws, and the result is kept in a file.

Where they are kept, and who makes them:

| draws | the file | made by |
|---|---|---|
| public: `check` in a notebook | `ffnlab/course/answers/NOTEBOOK.safetensors`, which students have | `authoring/build.py` |
| hidden: a class | `.markings/` in the class folder | `engine/preparation.py`, whose workers share the exercises |
| development: building, `recheck` without a class, one answer tried | `.markings/` in the project | `stored.load_for_development`, when first needed |

`stored` names the files in `.markings/` after all that they are made of: the key, the exercises, how they are compared, the seeds, and torch. If one of
these changes, the file has another name, and is made again. What is shipped has one name, and `make build` writes it again where it says something else.
`ffnlab/checking/reference_files.py` is the format of all of them.

What must hold first. On unlucky inputs a mistake could earn full marks, or two mistakes could do the same. `matrix` judges every kept answer of a key
on some draws; hidden draws are used only if it holds there, otherwise the next are tried. `authoring/stability.py` asks the same on the secrets of
twenty classes, and records it.

The secret of a class is in `hidden_draws.json`. `gradebook/draw_secrets.py` keeps a copy in the gradebook, and restores a file that was lost.

Nothing here imports the keys before it has to compute: whoever finds the file needs a second less.
"""
