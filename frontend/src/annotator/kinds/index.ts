/**
 * The kinds of task that this build of the annotators' page knows (vite.config.ts): the one of the
 * campaign, or, where requesters try the page, all that have a folder here.
 */
import kinds from 'virtual:kinds';
import type { CampaignForAnnotators } from '../../api/types';
import type { Board } from '../board.svelte';
import type { Kind } from './kind';

const KINDS = new Map(kinds.map((kind) => [kind.name, kind]));

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
