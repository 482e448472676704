/** Where an annotator comes from: a link, or a platform, whose address says who they are there. */
import type { Session } from '../api/types';

export type Channel = Session['channel'];

export interface Arrival {
  readonly channel: Channel;
  /** The name of the platform; empty behind links. */
  readonly platform: string;
  readonly link: string;
  /**
   * What this browser keeps is kept under it: one for each link, or each assignment of a platform
   * and person, so that two assignments in one browser never mix. The server makes it: ids of
   * platforms do not stay behind in browsers.
   */
  readonly place: string;
  /** What the platform's address says, as the server wants it; null behind links. */
  readonly given: Readonly<Record<string, string>> | null;
  /** The address of the link says who this is; else the browser's own key does. */
  readonly isNamed: boolean;
}

/** Milliseconds that a token in a platform's address is good for, less a margin. */
const TOKEN_AGE = 100_000;

export function arrivalBehindLink(link: string): Arrival {
  return { channel: 'link', platform: '', link, place: link, given: null, isNamed: false };
}

/** What the server wrote into the page. */
export function arrivalOf(data: DOMStringMap): Arrival {
  const { link = '', channel = 'link', platform = '', entry, place = '' } = data;
  if (channel === 'link' || !entry) {
    const arrival = arrivalBehindLink(link);
    return place ? { ...arrival, place: `${link}:${place}`, isNamed: true } : arrival;
  }
  const given = JSON.parse(entry) as Record<string, string>;
  return {
    channel,
    platform,
    link,
    place: `${link}:${place}`,
    given,
    isNamed: true,
  };
}

/** Path and body of the request that opens a session on a platform. */
export function opening(
  { channel, link, given }: Pick<Arrival, 'channel' | 'link' | 'given'>,
  age: number = performance.now(),
): { path: string; body: Record<string, string> } {
  const body: Record<string, string> = { link, ...given };
  // Later on the platform is asked who this is.
  if ('token' in body && age > TOKEN_AGE) body['token'] = '';
  return { path: `/sessions/${channel}`, body };
}

/** The address without the token that says who somebody is: it must not be passed on with it. */
export function withoutToken(address: string): string {
  const url = new URL(address);
  url.searchParams.delete('prolific_token');
  return url.href;
}

let arrived: Arrival | null = null;

/** Reads the page once; what it says of a person is taken out of it. */
export function readArrival(main: HTMLElement): Arrival {
  if (arrived === null) {
    arrived = arrivalOf(main.dataset);
    delete main.dataset['entry'];
    if (location.search.includes('prolific_token=')) {
      history.replaceState(null, '', withoutToken(location.href));
    }
  }
  return arrived;
}
