/** Which files a campaign's page offers, and where they are. */
import type { ExportFile } from '../../api/types';

export type Group = ExportFile['group'];

const KINDS: Record<string, string> = {
  csv: 'CSV',
  jsonl: 'JSON Lines',
  tsv: 'TSV',
  npz: 'NPZ',
  parquet: 'Parquet',
  zip: 'ZIP',
};

/** The name that people know a format by. */
export function kindOf(file: ExportFile): string {
  return KINDS[file.kind] ?? file.kind.toUpperCase();
}

/** What the shown model has besides an embedding. */
export interface Capabilities {
  insight: boolean;
  memberships: boolean;
  labels: boolean;
}

/** Files of a group that can be had now: those of a model need one, some need one that tells
 * attributes, has clusters of its own, or labels images by votes. */
export function offered(
  files: ExportFile[],
  group: Group,
  hasModel: boolean,
  capabilities: Capabilities,
): ExportFile[] {
  const there = {
    answers: true,
    model: hasModel,
    insight: hasModel && capabilities.insight,
    memberships: hasModel && capabilities.memberships,
    labels: hasModel && capabilities.labels,
  };
  return files.filter((file) => file.group === group && there[file.needs]);
}

/** Address of a file; of the newest model unless another is wanted. */
export function addressOf(campaignId: string, file: ExportFile, wanted: number | 'newest'): string {
  const version = file.group === 'model' && wanted !== 'newest' ? `?version=${wanted}` : '';
  return `/api/v1/campaigns/${campaignId}/export/${file.file}${version}`;
}

/** What follows a file's name: " · 5,760 rows", or nothing where the number is not known. */
export function rowsOf(file: ExportFile): string {
  if (file.rows === null) return '';
  return ` · ${file.rows.toLocaleString('en')} ${file.rows === 1 ? 'row' : 'rows'}`;
}
