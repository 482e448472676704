import { expect, test } from 'vitest';
import { addressAfterPost } from './addressAfterPost';

test('a page in reply to a form has the address of the form', () => {
  const here = 'https://here.test';
  expect(addressAfterPost('', `${here}/account?x=1`, here)).toBe(`${here}/account?x=1`);
  expect(addressAfterPost('', `${here}/account?done=password&x=1`, here)).toBe(
    `${here}/account?x=1`,
  );
  expect(addressAfterPost('/collections/7', `${here}/collections/new`, here)).toBe(
    '/collections/7',
  );
  expect(addressAfterPost('', 'https://here.test.elsewhere/x', here)).toBe('/');
  expect(addressAfterPost('', '', here)).toBe('/');
});
