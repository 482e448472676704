import { describe, expect, it } from 'vitest';
import type { ExportFile } from '../../api/types';
import { addressOf, kindOf, offered, rowsOf } from './files';

function aFile(changes: Partial<ExportFile> = {}): ExportFile {
  return {
    file: 'answers.csv',
    title: 'Answers',
    about: 'One line per image.',
    kind: 'csv',
    group: 'answers',
    needs: 'answers',
    identities: false,
    rows: null,
    ...changes,
  };
}

const embedding = aFile({ file: 'embedding.npz', kind: 'npz', group: 'model', needs: 'model' });
const attributes = aFile({ file: 'attributes.csv', group: 'model', needs: 'insight' });
const members = aFile({ file: 'memberships.csv', group: 'model', needs: 'memberships' });

describe('files', () => {
  it('are offered once there is what they are made of', () => {
    const files = [aFile(), embedding, attributes, members];
    const nothing = { insight: false, memberships: false, labels: false };
    expect(offered(files, 'answers', false, nothing)).toEqual([files[0]]);
    expect(offered(files, 'model', false, nothing)).toEqual([]);
    expect(offered(files, 'model', true, nothing)).toEqual([embedding]);
    expect(
      offered(files, 'model', true, { insight: true, memberships: false, labels: false }),
    ).toEqual([embedding, attributes]);
    expect(
      offered(files, 'model', true, { insight: false, memberships: true, labels: false }),
    ).toEqual([embedding, members]);
    const labels = aFile({ file: 'labels.csv', group: 'model', needs: 'labels' });
    expect(offered([labels], 'model', true, { ...nothing, labels: true })).toEqual([labels]);
    expect(offered([labels], 'model', true, nothing)).toEqual([]);
  });

  it('of a model name an older one, the newest by saying nothing', () => {
    expect(addressOf('7', embedding, 'newest')).toBe('/api/v1/campaigns/7/export/embedding.npz');
    expect(addressOf('7', embedding, 2)).toMatch(/embedding\.npz\?version=2$/);
    expect(addressOf('7', aFile(), 2)).toMatch(/answers\.csv$/);
  });

  it('say their format and their rows', () => {
    expect(kindOf(aFile({ kind: 'jsonl' }))).toBe('JSON Lines');
    expect(rowsOf(aFile({ rows: 5760 }))).toBe(' · 5,760 rows');
    expect(rowsOf(aFile({ rows: 1 }))).toBe(' · 1 row');
    expect(rowsOf(aFile())).toBe('');
  });
});
