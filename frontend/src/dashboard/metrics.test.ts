import { describe, expect, it } from 'vitest';
import { metricsOf, outlookSentences, verdictOf } from './metrics';

describe('metrics', () => {
  it('are shown next to their errors', () => {
    expect(metricsOf({ agreement: 0.7123, agreement_error: 0.0081, dimensions: 3 })).toEqual([
      { name: 'unseen placements predicted', value: '71.2 % ± 0.8 %' },
      { name: 'dimensions', value: '3' },
    ]);
  });

  it('keep an error that belongs to nothing', () => {
    expect(metricsOf({ training_error: 0.5 })).toEqual([
      { name: 'training error', value: '0.500' },
    ]);
  });
});

describe('the outlook', () => {
  const unknown = {
    agreement: null,
    agreement_error: null,
    neighbours: null,
    neighbours_error: null,
  };

  it('says nothing that is not known', () => {
    expect(outlookSentences({ answers: 100, ...unknown })).toEqual([]);
  });

  it('says what the next answers would change, with errors', () => {
    const outlook = { answers: 100, ...unknown, neighbours: 0.123, neighbours_error: 0.004 };
    expect(outlookSentences(outlook)).toEqual([
      'Good enough? Nearly: the next 100 answers would change about 12.3 % of the nearest neighbours.',
      'The standard error of this share is 0.4 %.',
    ]);
  });

  it('says whether there are enough answers', () => {
    const after = (neighbours: number) => ({ answers: 100, ...unknown, neighbours });
    expect(verdictOf(after(0.15001))).toMatch(/^Good enough\? Not yet: the next 100 answers/);
    expect(verdictOf(after(0.15))).toMatch(/^Good enough\? Nearly/);
    expect(verdictOf(after(0.05), 'finished')).toMatch(/^Good enough\? Yes.*: another 100 answers/);
    expect(verdictOf({ answers: 100, ...unknown })).toBe('');
  });
});
