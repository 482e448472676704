/** What an annotator tells the requester about a grid or an image. */
import type { RemarkIn } from '../api/types';
import * as api from './api';
import type { Page } from './page.svelte';

export async function comment(page: Page, text: string): Promise<void> {
  const lease = page.phase.name === 'working' ? page.phase.board.subject.id : null;
  await remark(page, { kind: 'comment', text, lease_id: lease, image: null });
  page.notice = { key: 'comment_sent' };
}

export async function reportBroken(page: Page, image: number): Promise<void> {
  if (page.phase.name !== 'working') return;
  const { board } = page.phase;
  board.reportBroken(image);
  await remark(page, { kind: 'broken_image', text: '', lease_id: board.subject.id, image });
  page.notice = { key: 'reported', values: { image: board.nameOf(image) } };
}

async function remark(page: Page, body: RemarkIn): Promise<void> {
  await page.attempt(() => page.call((token) => api.sendRemark(token, body)));
}
