import { expect, it } from 'vitest';
import type { ExportFile } from '../../api/types';
import { notebookCode } from './notebook';

const ADDRESS = 'https://likewise.test/api/v1/campaigns/7/export';

function codeOf(file: string): string {
  const kind = file.split('.')[1]!;
  const row = { file, kind, title: '', about: '', group: 'answers', needs: 'answers' } as const;
  const rest = { identities: false, rows: null };
  return notebookCode({ ...row, ...rest } as ExportFile, `${ADDRESS}/${file}`);
}

it('downloads a file with a token and opens it', () => {
  expect(codeOf('quality.csv')).toBe(`import io
import os
import pandas
import requests

# Create a token under Account, and set it as LIKEWISE_TOKEN.
token = os.environ["LIKEWISE_TOKEN"]
reply = requests.get("${ADDRESS}/quality.csv", headers={"Authorization": f"Bearer {token}"})
reply.raise_for_status()
data = reply.content
quality = pandas.read_csv(io.BytesIO(data))`);
});

it.each([
  ['answers.csv', 'answers = pandas.read_csv(io.BytesIO(data), parse_dates=["submitted_at"])'],
  ['answers.jsonl', 'answers = pandas.read_json(io.BytesIO(data), lines=True)'],
  ['answers.parquet', 'answers = pandas.read_parquet(io.BytesIO(data))'],
  ['vectors.tsv', String.raw`vectors = pandas.read_csv(io.BytesIO(data), sep="\t", header=None)`],
  ['metadata.tsv', String.raw`metadata = pandas.read_csv(io.BytesIO(data), sep="\t", quoting=3)`],
  ['trainset.txt', 'trainset = numpy.loadtxt(io.BytesIO(data), dtype=int)'],
  ['embedding.npz', 'embedding = numpy.load(io.BytesIO(data))'],
  ['archive.zip', 'archive = zipfile.ZipFile(io.BytesIO(data))'],
])('%s is opened by what reads its format', (file, line) => {
  const lines = codeOf(file).split('\n');
  expect(lines.at(-1)).toBe(line);
  expect(lines).toContain(`import ${line.split(' = ')[1]!.split('.')[0]}`);
});
