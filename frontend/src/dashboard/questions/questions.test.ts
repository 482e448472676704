import { describe, expect, it } from 'vitest';
import type { Question } from '../../api/types';
import {
  choicesOf,
  freeKey,
  keyFor,
  moved,
  newQuestion,
  ofType,
  problemsOf,
  withChoices,
} from './questions';

const age: Question = { ...ofType('number', newQuestion('number', [])), key: 'age', title: 'Age?' };
const pets: Question = {
  ...newQuestion('choice', ['age']),
  key: 'pets',
  title: 'Pets?',
} as Question;

describe('keys', () => {
  it('are made of the title until somebody chooses one', () => {
    const fresh = { ...newQuestion('text', ['age']), title: 'How old are you, Zoë?' };
    expect(fresh.key).toBe('q2');
    expect(keyFor(fresh, ['age'])).toBe('how_old_are_you_zoe');
    expect(keyFor({ ...fresh, key: 'mine' }, [])).toBe('mine');
    expect(keyFor({ ...fresh, title: 'سؤال' }, [])).toBe('q2');
  });

  it('are free', () => {
    expect(freeKey('age', ['age', 'age_2'])).toBe('age_3');
  });
});

describe('lists', () => {
  it('are reordered, and never beyond their ends', () => {
    expect(moved(['a', 'b', 'c'], 0, 2)).toEqual(['b', 'c', 'a']);
    expect(moved(['a', 'b', 'c'], 2, 1)).toEqual(['a', 'c', 'b']);
    expect(moved(['a', 'b'], 0, -1)).toEqual(['a', 'b']);
  });

  it('have choices line by line, and rules only for those', () => {
    expect(choicesOf(' cat \n\n dog')).toEqual(['cat', 'dog']);
    const screening = { ...pets, screen_out: ['No'] } as Question;
    expect(withChoices(screening, ['Yes', 'Maybe'])).toMatchObject({ screen_out: [] });
  });
});

describe('problems', () => {
  const wrong = (question: Partial<Question>, base: Question = pets) =>
    problemsOf([{ ...base, ...question } as Question], [age])[0];

  it('are said as the server would', () => {
    expect(problemsOf([age, pets], [])).toEqual(['', '']);
    expect(wrong({ title: ' ' })).toBe('Write the question.');
    expect(wrong({ key: 'Age' })).toContain('lower-case letters');
    expect(wrong({ key: 'age' })).toContain('Another question has the key age');
    expect(wrong({ choices: ['a'] } as Partial<Question>)).toContain('at least two');
    expect(wrong({ choices: ['a', 'a'] } as Partial<Question>)).toContain('only once');
    expect(wrong({ choices: ['a;', 'b'] } as Partial<Question>)).toContain('“;”');
    expect(wrong({ screen_out: ['Yes', 'No'] } as Partial<Question>)).toContain('let people');
    const number = { ...age, key: 'size' };
    expect(wrong({ min: 3, max: 2 } as Partial<Question>, number)).toContain('above the maximum');
    const closed = { screen_out_below: 18, screen_out_above: 10 } as Partial<Question>;
    expect(wrong(closed, number)).toContain('Nobody could take part');
  });
});
