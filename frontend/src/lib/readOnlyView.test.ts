import { afterEach, expect, it, vi } from 'vitest';

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

async function viewAt(root: string | undefined) {
  const dataset = root === undefined ? {} : { root };
  vi.stubGlobal('document', { documentElement: { dataset } });
  return import('./readOnlyView');
}

it("keeps the addresses of requesters' pages", async () => {
  const view = await viewAt(undefined);
  expect(view.isReadOnlyView).toBe(false);
  expect(view.addressOf('/api/v1/options')).toBe('/api/v1/options');
});

it('leads visitors into their view', async () => {
  const view = await viewAt('/view/0190');
  expect(view.isReadOnlyView).toBe(true);
  expect(view.campaignPage('c', 'map?selected=1')).toBe('/view/0190/campaigns/c/map?selected=1');
});
