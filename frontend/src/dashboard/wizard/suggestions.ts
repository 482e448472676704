/** What a new campaign over a collection begins with. */
import type { Collection, Options } from '../../api/types';

/** How often each image is shown with the suggested budget. */
const VIEWS = 16;
/** One grid of ten again, on top of the budget: enough to tell careless people from others
 * (docs/user-guide.md). */
const REPEATS = 0.1;

export function suggestedBudget(images: number, gridSize: number, views = VIEWS): number {
  const answers = (views * images) / gridSize;
  // A round figure of two digits.
  const unit = 10 ** Math.max(1, Math.floor(Math.log10(Math.max(answers, 1))) - 1);
  return Math.max(10, Math.ceil(answers / unit) * unit);
}

/** How many images of a large collection to ask about. */
export function suggestedPart(images: number, gridSize: number): number {
  return Math.max(gridSize, Math.min(400, Math.round(images / 5)));
}

/** The body of POST /api/v1/campaigns for a kind of task, in a size that fits the collection. */
export function beginWith(collection: Collection, kind: string, options: Options) {
  const sizes = options.kinds[kind];
  const gridSize = Math.max(
    sizes?.smallest_grid ?? 2,
    Math.min(sizes?.grid_size ?? 24, collection.n_images),
  );
  const strategy =
    options.strategies.find(({ name }) => name === sizes?.strategy) ?? options.strategies[0];
  const budget = suggestedBudget(collection.n_images, gridSize, sizes?.views);
  return {
    name: `${collection.name}: ${sizes?.votes ? 'which show it' : 'what belongs together'}?`.slice(
      0,
      200,
    ),
    collection_id: collection.id,
    kind,
    question: sizes?.question ?? '',
    strategy: strategy?.name ?? 'cen',
    grid_size: gridSize,
    max_groups: sizes?.max_groups ?? 10,
    classes: sizes?.classes ?? [],
    budget,
    grids_per_assignment: sizes?.grids_per_assignment ?? 10,
    rounds: Math.min(strategy?.default_rounds ?? 2, budget),
    learn_every: Math.max(10, Math.round(budget / 4)),
    // Enough that nobody waits while people take a minute a grid; more would spend small budgets
    // on grids that no model has chosen.
    ready_share: 0.25,
    annotation: { repeat_share: REPEATS } as Record<string, unknown>,
  };
}
