/** What the page shows at the moment. */
import type { Board } from './board.svelte';
import type { Ending } from './ending.svelte';
import type { Finished } from './identity';
import type { PracticeRun } from './practice.svelte';
import type { QuestionRun } from './questions.svelte';
import type { Refusal } from './refusals';
import type { Key } from './texts';

export type Phase =
  | { name: 'loading' | 'consent' | 'declined' | 'instructions' | 'warning' | 'somebody-else' }
  | { name: 'waiting' | 'paused' | 'screened_out' }
  | { name: 'practice'; run: PracticeRun }
  | { name: 'questions'; run: QuestionRun }
  | { name: 'working'; board: Board }
  | { name: 'done'; finished: Finished | null; stopped: boolean; back: string | null }
  | { name: 'ending'; ending: Ending }
  | { name: 'refused'; refusal: Refusal }
  | { name: 'password'; problem: Key | '' }
  | { name: 'error'; sentence: string };
