/** Grids beyond an assignment's own, each for a bonus. */
import { ApiError } from '../api/errors';
import * as api from './api';
import type { Page } from './page.svelte';

/** One grid more. */
export async function takeMore(page: Page): Promise<void> {
  await page.attempt(async () => {
    try {
      await page.show(await page.call(api.takeMore));
    } catch (error) {
      // Offered a while ago, and had by others since: ask again what is left.
      if (!(error instanceof ApiError && error.code === 'no_more')) throw error;
      await page.next();
    }
  });
}

/** To the end without the extra grid at work. */
export async function leaveExtra(page: Page): Promise<void> {
  if (page.phase.name !== 'working') return;
  const lease = page.phase.board.subject.id;
  page.shared.close();
  await page.attempt(async () => {
    await page.call((token) => api.returnLease(token, lease, ''));
    await page.shared.forget();
    page.notice = null;
    page.finish({ status: 'done', answered: page.answered, target: page.target });
  });
}
