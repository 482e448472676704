/** Types of annotators in words. */
import type { AnnotatorTypes, Division } from '../../api/types';
import { pText } from './answers';

/** The p at or below which people differ, as in learning/annotator_types.py. */
const LEVEL = 0.01;

/** "Types found: 2 (p < 0.001): 14 and 16 people, 3 unclear." */
export function typesText({ n_types, p, sizes, unclear, n_answers }: AnnotatorTypes): string {
  if (n_types === null || p === null) {
    return 'Nothing is known about types in this model. After each round, halves of the answers are compared; types come with that, if six people have answered three grids each.';
  }
  const value = p < 0.001 ? pText(p) : `= ${pText(p)}`;
  if (n_types === 1 && p <= LEVEL) {
    return `No clear types: these people differ in how they see the images (p ${value}), but they do not divide into groups of three people or more.`;
  }
  if (n_types === 1) {
    const answers = n_answers.toLocaleString('en');
    return `No types: these people see the images in the same way, as far as ${answers} answers can tell (p ${value}).`;
  }
  const people = sizes.map((size) => size.toLocaleString('en'));
  const listed = `${people.slice(0, -1).join(', ')} and ${people.at(-1)} people`;
  return `Types found: ${n_types} (p ${value}): ${listed}, ${unclear.toLocaleString('en')} unclear.`;
}

/** A division's own name among all: questions have keys, types and links have none. */
export function divisionId({ by, key }: Pick<Division, 'by' | 'key'>): string {
  return `${by}:${key}`;
}

/** The result of the permutation test of two groups, in a sentence. */
export function testText(by: string, p: number | null): string {
  if (by === 'type') {
    return 'Types were derived from these answers, so p and q of single pairs are too small here. The test of the types is above.';
  }
  if (p === null) return 'There are too few people in a group to test whether they differ.';
  const value = p < 0.001 ? pText(p) : `= ${pText(p)}`;
  return `Permutation test of whether both groups see the images differently: p ${value}.`;
}
