/** Words for what is known of annotators' work. */
import type { AnnotatorScore, Evidence } from '../../api/types';

export const VERDICTS = {
  good: 'agrees beyond chance',
  chance: 'looks random',
  one_group: 'does not sort',
  unknown: 'too little data',
} as const;

export type Decision = 'warn' | 'stop' | 'leave_out' | 'restore';

export const DECISIONS: readonly [Decision, string][] = [
  ['warn', 'Warn'],
  ['stop', 'Stop'],
  ['leave_out', 'Leave out'],
  ['restore', 'Undo'],
];

/** "0.82 of 3", with what random groups stay below as a title. */
export function evidenceText(evidence: Evidence | null): string {
  if (!evidence) return '–';
  // Plus zero: no "-0.00".
  const mean = Math.round(evidence.mean * 100) / 100 + 0;
  return `${mean.toFixed(2)} (${evidence.n})`;
}

export function measuresOf(score: AnnotatorScore): string[] {
  return [
    ...(score.simulated ? ['simulated'] : []),
    // What was warned of may be over.
    ...(score.warned_at ? [score.verdict === 'good' ? 'warned earlier' : 'warned'] : []),
    ...(score.stopped_at ? ['stopped'] : []),
    ...(score.left_out_at ? ['left out'] : []),
  ];
}

/** Decisions that would change something. */
export function openDecisions(score: AnnotatorScore): readonly [Decision, string][] {
  const taken = { warn: score.warned_at, stop: score.stopped_at, leave_out: score.left_out_at };
  const any = Object.values(taken).some(Boolean);
  return DECISIONS.flatMap(([name, label]): [Decision, string][] => {
    if (name === 'restore') return any ? [[name, label]] : [];
    if (!taken[name]) return [[name, label]];
    // Others can be asked later, too.
    return name === 'leave_out' && !score.asked_again_at ? [[name, 'Ask again']] : [];
  });
}

/** Those to look at first: suspect ones, then those with the most answers. */
export function byConcern(scores: readonly AnnotatorScore[]): AnnotatorScore[] {
  const isSuspect = (score: AnnotatorScore) =>
    score.verdict === 'chance' || score.verdict === 'one_group';
  return scores.toSorted(
    (a, b) => Number(isSuspect(b)) - Number(isSuspect(a)) || b.n_answers - a.n_answers,
  );
}

/** What a decision does, for those who are about to take it. */
const CONSEQUENCES: Record<Decision, string> = {
  warn: 'The annotator is asked to take more care before the next grid.',
  stop: 'The annotator gets no more grids in this campaign. Finished work is paid.',
  leave_out:
    'The annotator’s answers are no longer used for learning, and a new model is made. The answers stay in the exports, marked as left out, and are paid.',
  restore:
    'All measures are undone, and no automatic rule applies to this annotator any more. Answers that were left out are used for learning again, and those that nobody has started to give again are no longer asked again.',
};

export function consequenceOf(decision: Decision, score: AnnotatorScore): string {
  if (decision === 'leave_out' && score.left_out_at)
    return 'Others are asked for the answers that are left out. The annotator gets no more grids.';
  return CONSEQUENCES[decision];
}
