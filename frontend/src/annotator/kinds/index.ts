/** All kinds of task that the annotators' page knows: those with a folder here. */
import type { CampaignForAnnotators } from '../../api/types';
import type { Board } from '../board.svelte';
import type { Kind } from './kind';

const FOUND = import.meta.glob<Kind>('./*/index.ts', { eager: true, import: 'kind' });
const KINDS = new Map(Object.values(FOUND).map((kind) => [kind.name, kind]));

/** The kind whose interface a campaign has. */
export function kindOf({ interface: name }: Pick<CampaignForAnnotators, 'interface'>): Kind {
  const kind = KINDS.get(name);
  if (!kind) throw new Error(`This page has no interface ${name}.`);
  return kind;
}

/** A grid to be worked on; the parameters are those of `Board`. */
export function newBoard(...given: ConstructorParameters<typeof Board>): Board {
  return new (kindOf(given[0]).Board)(...given);
}
