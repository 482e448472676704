/** Drawings of icons: SVG paths in a square of 24 units. */
export const PATHS = {
  undo: 'M9 7 4 12l5 5M4 12h10a6 6 0 0 1 6 6',
  redo: 'm15 7 5 5-5 5M20 12H10a6 6 0 0 0-6 6',
  clear: 'M6 6l12 12M18 6 6 18',
  help: 'M9.2 9a3 3 0 1 1 4.6 2.6c-1 .6-1.8 1.2-1.8 2.4M12 17.5v.01',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  check: 'm5 12.5 4.5 4.5L19 7.5',
  rest: 'M12 4v12m-5-5 5 5 5-5M5 20h14',
  away: 'M3 3l18 18M8.5 16.4a5 5 0 0 1 7 0M5 12.9a10 10 0 0 1 4.2-2.4M19 12.9a10 10 0 0 0-3-2M12 20h.01',
  chosen: 'M4 8V4h4M16 4h4v4M20 16v4h-4M8 20H4v-4',
  loupe: 'M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13M15.5 15.5 20 20M10.5 8v5M8 10.5h5',
  clock: 'M12 7v5l3 2M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18',
};

export type IconName = keyof typeof PATHS;
