/** What the annotator works with, as far as it bears on how fast and how well. */
import type { AnswerIn } from '../api/types';
import { language } from './texts';

export function device(questionLanguage = ''): NonNullable<AnswerIn['device']> {
  const pointer = (['fine', 'coarse', 'none'] as const).find(
    (kind) => matchMedia(`(pointer: ${kind})`).matches,
  );
  return {
    width: innerWidth,
    height: innerHeight,
    ratio: devicePixelRatio,
    pointer: pointer ?? 'none',
    language: language(),
    question_language: questionLanguage,
  };
}
