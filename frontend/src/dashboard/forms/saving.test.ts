import { describe, expect, it } from 'vitest';
import { ApiError } from '../../api/errors';
import { saveValid, withFields, withoutFields, type Values } from './saving';

const NESTED = ['annotation'];
const wrongAddress = new ApiError(
  'bad_annotation',
  422,
  'Completion URL (completion_url): it must start with https://.',
  null,
  null,
  ['annotation.completion_url'],
  'Completion URL: it must start with https://.',
);

describe('saving a form', () => {
  /** Refuses addresses and a budget below 10. */
  function server(stored: Values[]) {
    return (values: Values) => {
      const { annotation, budget } = values as { annotation?: Values; budget?: number };
      if (annotation && 'completion_url' in annotation) return Promise.reject(wrongAddress);
      if (budget !== undefined && budget < 10)
        return Promise.reject(
          new ApiError('bad_budget', 422, 'Too small.', null, null, ['budget']),
        );
      stored.push(values);
      return Promise.resolve(values);
    };
  }

  it('saves all but what is wrong, which it names', async () => {
    const stored: Values[] = [];
    const values = {
      name: 'Birds',
      budget: 2,
      annotation: { completion_url: 'x', thanks: 'Bye' },
    };
    expect(await saveValid(values, NESTED, server(stored))).toEqual({
      stored: { name: 'Birds', annotation: { thanks: 'Bye' } },
      refused: { budget: 2, annotation: { completion_url: 'x' } },
      problems: {
        budget: 'Too small.',
        completion_url: 'Completion URL: it must start with https://.',
      },
    });
    expect(stored).toHaveLength(1);
  });

  it('saves nothing if all of it is wrong', async () => {
    const outcome = await saveValid({ budget: 1 }, NESTED, server([]));
    expect(outcome).toEqual({
      stored: null,
      refused: { budget: 1 },
      problems: { budget: 'Too small.' },
    });
  });

  it('blames the only field that was sent, and none of several', async () => {
    const refuse = () => Promise.reject(new ApiError('conflict', 409, 'No.'));
    const { problems } = await saveValid({ budget: 1 }, NESTED, refuse);
    expect(problems).toEqual({ budget: 'No.' });
    await expect(saveValid({ budget: 1, name: 'A' }, NESTED, refuse)).rejects.toThrow('No.');
  });

  it('leaves out what was wrong when it was last typed', () => {
    const values = { budget: 6, annotation: { practice: 1, thanks: 'Bye' } };
    expect(withoutFields(values, NESTED, new Set(['budget', 'practice']))).toEqual({
      annotation: { thanks: 'Bye' },
    });
  });

  it('saves neither half of what is refused together', async () => {
    const both = ['annotation.known_value', 'annotation.known_attribute'];
    const saved: Values[] = [];
    const server = (values: Values) => {
      if (values['annotation'])
        return Promise.reject(new ApiError('bad_known', 422, 'No.', null, null, both));
      saved.push(values);
      return Promise.resolve(values);
    };
    const annotation = { known_attribute: 'house', known_value: 'maybe' };
    const { refused } = await saveValid({ annotation, budget: 5 }, NESTED, server);
    expect(saved).toEqual([{ budget: 5 }]);
    expect(refused).toEqual({ annotation });
  });

  it('keeps the last valid value of a field that is wrong now', () => {
    const typed = { budget: 200, annotation: { practice: 1, thanks: 'Bye' } };
    expect(withFields({ name: 'A' }, typed, NESTED, new Set(['budget', 'practice']))).toEqual({
      name: 'A',
      budget: 200,
      annotation: { practice: 1 },
    });
  });

  it('blames no field for what is not its fault', async () => {
    const busy = () => Promise.reject(new ApiError('busy', 503, 'Busy.'));
    await expect(saveValid({ budget: 1 }, NESTED, busy)).rejects.toThrow('Busy.');
  });
});
