/** What is said of an error that nobody here can help. */
import { ApiError } from '../api/errors';
import { type Key, t } from './texts';

const SENTENCES: Record<string, Key> = {
  network: 'error_network',
  unknown_link: 'bad_link',
  internal_error: 'error_server',
};

export function sentenceOf(error: unknown): string {
  if (!(error instanceof ApiError)) {
    console.error(error);
    return t('error_unknown');
  }
  const key = SENTENCES[error.code];
  return key ? t(key) : error.detail;
}
