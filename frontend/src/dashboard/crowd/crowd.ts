/** Words and choices of a simulated crowd that answers a campaign. */
import type { SimulatedCrowd, SimulatedCrowdRun } from '../../api/types';

const FEATURES = 'features';

export function nameOf(choice: string): string {
  return choice === FEATURES ? 'the features in your table' : choice.replace('=', ': ');
}

/** What a crowd sorts by after a choice was ticked or unticked: attributes together, or one. */
export function toggled(
  by: readonly string[],
  choice: string,
  on: boolean,
  oneOnly: boolean,
): string[] {
  const others = by.filter((name) => name !== choice);
  if (!on) return others;
  const isAlone = oneOnly || choice === FEATURES;
  return isAlone ? [choice] : [...others.filter((name) => name !== FEATURES), choice];
}

export function isActive(run: SimulatedCrowdRun | null): boolean {
  return run !== null && run.state !== 'done' && run.state !== 'failed';
}

/** How far it is, for example “3 of 20 answers (and 1 check)”. */
export function progressText({ stored, answers, checks, surplus }: SimulatedCrowdRun): string {
  const count = (number: number) => number.toLocaleString('en');
  const more = [
    checks > 0 ? (checks === 1 ? '1 check' : `${count(checks)} checks`) : '',
    surplus > 0 ? `${count(surplus)} surplus` : '',
  ].filter(Boolean);
  const also = more.length > 0 ? ` (and ${more.join(', ')})` : '';
  return `${count(stored)} of ${count(answers)} answers${also}`;
}

/** Who it is, for example “8 annotators sort by colour and size, noise 10 %”. */
export function crowdText({ annotators, by, noise }: SimulatedCrowdRun): string {
  const who = annotators === 1 ? '1 annotator sorts' : `${annotators} annotators sort`;
  const names = by.map(nameOf);
  const what = new Intl.ListFormat('en').format(names);
  return `${who} by ${what}, noise ${Math.round(noise * 100)} %`;
}

/** What a requester confirms before simulated answers mix with those of people; '' if none has
 * answered. */
export function mixQuestion({ has_people }: Pick<SimulatedCrowd, 'has_people'>): string {
  if (!has_people) return '';
  return (
    'People have answered this campaign. Simulated answers will use up its remaining grids, and ' +
    'models will learn from both. Simulated answers cannot be deleted. Start the simulated crowd here?'
  );
}
