import { describe, expect, it } from 'vitest';
import { merged } from './draft.svelte';

describe('changes of a draft', () => {
  it('put the later over the earlier, nested settings field by field', () => {
    const refused = { name: 'A', annotation: { practice: 1, repeat_share: 10 } };
    expect(merged(refused, { annotation: { repeat_share: 0.1 }, budget: 5 })).toEqual({
      name: 'A',
      budget: 5,
      annotation: { practice: 1, repeat_share: 0.1 },
    });
  });
});
