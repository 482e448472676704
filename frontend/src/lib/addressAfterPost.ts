/** The address of a page that was sent in reply to a form: the given one, or that of the form. */
export function addressAfterPost(given: string, referrer: string, origin: string): string {
  if (given) return given;
  return referrer.startsWith(`${origin}/`) ? referrer : '/';
}
