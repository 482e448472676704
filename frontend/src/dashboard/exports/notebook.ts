/** Python for a notebook, which downloads a file and opens it. */
import type { ExportFile } from '../../api/types';

interface Reader {
  library: string;
  /** Opens `data`, the bytes of the file. */
  call: string;
}

const READERS: Record<string, Reader> = {
  csv: { library: 'pandas', call: 'pandas.read_csv(io.BytesIO(data))' },
  jsonl: { library: 'pandas', call: 'pandas.read_json(io.BytesIO(data), lines=True)' },
  tsv: { library: 'pandas', call: 'pandas.read_csv(io.BytesIO(data), sep="\\t", quoting=3)' },
  txt: { library: 'numpy', call: 'numpy.loadtxt(io.BytesIO(data), dtype=int)' },
  npz: { library: 'numpy', call: 'numpy.load(io.BytesIO(data))' },
  parquet: { library: 'pandas', call: 'pandas.read_parquet(io.BytesIO(data))' },
  zip: { library: 'zipfile', call: 'zipfile.ZipFile(io.BytesIO(data))' },
};

/** Files that need more than their format says. */
const OF_FILE: Record<string, Reader> = {
  'answers.csv': {
    library: 'pandas',
    call: 'pandas.read_csv(io.BytesIO(data), parse_dates=["submitted_at"])',
  },
  'vectors.tsv': {
    library: 'pandas',
    call: 'pandas.read_csv(io.BytesIO(data), sep="\\t", header=None)',
  },
};

/** `address`: of the file, with the server's. */
export function notebookCode(file: ExportFile, address: string): string {
  const reader = OF_FILE[file.file] ?? READERS[file.kind];
  const name = (file.file.split('.')[0] ?? 'data').replaceAll(/\W/g, '_');
  const libraries = ['requests', ...(reader ? [reader.library] : [])].toSorted();
  return [
    'import io',
    'import os',
    ...libraries.map((library) => `import ${library}`),
    '',
    '# Create a token under Account, and set it as LIKEWISE_TOKEN.',
    'token = os.environ["LIKEWISE_TOKEN"]',
    `reply = requests.get("${address}", headers={"Authorization": f"Bearer {token}"})`,
    'reply.raise_for_status()',
    'data = reply.content',
    `${name} = ${reader?.call ?? 'data'}`,
  ].join('\n');
}
