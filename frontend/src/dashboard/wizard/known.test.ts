import { describe, expect, it } from 'vitest';
import { choiceOfKnown, crowdChoices, knownText } from './known';

const none = { practice: 0, gold_share: 0, known_value: 'yes' };
const SELECT = { needs_known_value: true, votes: true, known_rule: '' };
const GRID = {
  needs_known_value: false,
  votes: false,
  known_rule: 'Images with the same value belong together for everyone.',
};

describe('known answers', () => {
  it('of a select campaign wait for the value to tick', () => {
    const colours = ['red', 'blue'];
    expect(choiceOfKnown(none, 'colour', '', colours)).toBeNull();
    expect(choiceOfKnown(none, 'colour', 'blue', colours)).toEqual({
      known_attribute: 'colour',
      known_value: 'blue',
      practice: 1,
      gold_share: 0.1,
    });
    expect(choiceOfKnown(none, 'barn', '', ['yes', 'no'])).toMatchObject({ known_value: 'yes' });
  });

  it('of other kinds need none', () => {
    const asked = { ...none, practice: 2 };
    expect(choiceOfKnown(asked, 'colour', '', undefined)).toEqual({ known_attribute: 'colour' });
    expect(choiceOfKnown(asked, '', '', undefined)).toMatchObject({ practice: 0, gold_share: 0 });
  });

  it('are said in words of the kind at the launch', () => {
    const chosen = { known_attribute: 'colour', known_value: 'red' };
    expect(knownText(chosen, SELECT)).toBe(
      'Images whose “colour” is “red” are to be ticked, all others are not.',
    );
    expect(knownText(chosen, GRID)).toBe(
      'By “colour”: images with the same value belong together for everyone.',
    );
    expect(knownText({ known_attribute: '', known_value: 'yes' }, SELECT)).toBe('');
  });
});

it('a simulated crowd votes on the value to tick, and groups by attributes', () => {
  const groupings = { attributes: ['colour', 'shape'], features: true };
  const chosen = { known_attribute: 'colour', known_value: 'red' };
  expect(crowdChoices(chosen, SELECT, groupings)).toEqual(['colour=red', 'imagined']);
  expect(crowdChoices({ known_attribute: '', known_value: '' }, SELECT, groupings)).toEqual([
    'imagined',
  ]);
  expect(crowdChoices(chosen, GRID, groupings)).toEqual([
    'colour',
    'shape',
    'features',
    'imagined',
  ]);
});
