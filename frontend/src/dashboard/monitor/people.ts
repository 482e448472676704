/** Who has answered, and who is answering. */
import type { Progress } from '../../api/types';

type Who = Pick<Progress, 'state' | 'annotators' | 'leases' | 'simulated'>;

type Ending = Pick<Progress, 'leases' | 'answers' | 'budget'>;

/** After the end, leases that nobody finished are nobody's work. */
export function whoText({ state, annotators, leases, simulated }: Who): string {
  const now = state === 'finished' ? 'the campaign has ended' : `${leases} at work now`;
  if (simulated.annotators === 0) return now;
  const share = simulated.annotators === annotators ? 'all' : String(simulated.annotators);
  return `${share} simulated · ${now}`;
}

/** What ends with a campaign, for those who are about to end it. */
export function finishQuestion({ leases, answers, budget }: Ending): string {
  const left = budget - answers;
  const unused = `${left.toLocaleString('en')} of ${budget.toLocaleString('en')} answers will not be collected.`;
  const people =
    leases === 0
      ? ''
      : leases === 1
        ? ' 1 grid is being worked on; its annotator can still submit it and is paid.'
        : ` ${leases} grids are being worked on; their annotators can still submit them and are paid.`;
  return `Finish this campaign? ${unused}${people} Links stop handing out grids, and recruitment on platforms stops. You can reopen the campaign later; recruitment has to be started again.`;
}

/** What is left out of the figures, or '' if people gave all answers. */
export function simulatedText({ annotators, answers }: Who['simulated']): string {
  if (annotators === 0) return '';
  const grids = answers === 1 ? '1 grid' : `${answers.toLocaleString('en')} grids`;
  const who = annotators === 1 ? '1 simulated annotator' : `${annotators} simulated annotators`;
  return `${who} answered ${grids}. Models learn from them, but they count neither for the time per grid nor for pay.`;
}
