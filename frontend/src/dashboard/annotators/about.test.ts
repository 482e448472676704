import { expect, it } from 'vitest';
import type { AnswerAttribute } from '../../api/types';
import { aboutText } from './about';

const FOUND: AnswerAttribute = {
  version: 3,
  attribute: 2,
  probability: 0.834,
  overall: false,
  name: '',
  low: [],
  high: [],
  clusters: [],
};

it('names the attribute by number and by the words of the annotators', () => {
  expect(aboutText(FOUND)).toBe('About attribute 2 (83 %)');
  expect(aboutText({ ...FOUND, name: 'eyes' })).toBe('About attribute 2: eyes (83 %)');
  const sides = { ...FOUND, low: ['red', 'warm'], high: ['blue'] };
  expect(aboutText(sides)).toBe('About attribute 2: red – blue (83 %)');
  const clusters = { ...FOUND, clusters: [['owl', 'round'], [], ['duck'], ['wren'], ['jay']] };
  expect(aboutText(clusters)).toBe('About attribute 2: owl, duck, wren (83 %)');
});

it('says when it is about none of them, or where there is one overall similarity', () => {
  expect(aboutText({ ...FOUND, attribute: null })).toBe('About none of the attributes (83 %)');
  const overall = { ...FOUND, attribute: 0, overall: true };
  expect(aboutText(overall)).toBe('Follows the overall similarity (83 %)');
});
