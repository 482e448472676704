/** The address of a page that was sent in reply to a form: the given one, or that of the form. */
export function addressAfterPost(given: string, referrer: string, origin: string): string {
  if (given) return given;
  if (!referrer.startsWith(`${origin}/`)) return '/';
  const address = new URL(referrer);
  // What an earlier form has done is no news any more.
  for (const name of ['done', 'link_sent']) address.searchParams.delete(name);
  return address.href;
}
