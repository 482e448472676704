/** Written by vite.config.ts. */
declare module 'virtual:kinds' {
  const kinds: readonly import('./kind').Kind[];
  export default kinds;
}
