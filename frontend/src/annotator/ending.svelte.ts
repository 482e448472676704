/** The end of an assignment on a platform: extra grids, and handing it in. */
import type { Handout, Session } from '../api/types';
import * as api from './api';
import { takeMore } from './extras';
import type { Page } from './page.svelte';

export type HandIn = NonNullable<Session['hand_in']>;
/** Milliseconds after which a page that is still there has not been left. */
const PATIENCE = 10_000;

export class Ending {
  /** late: the browser should have left by now */
  state: 'ready' | 'busy' | 'late' = $state('ready');

  constructor(
    private readonly page: Page,
    readonly handIn: HandIn,
    readonly handout: Handout,
    readonly stopped: boolean,
  ) {}

  async more(): Promise<void> {
    this.state = 'busy';
    await takeMore(this.page);
    this.state = 'ready';
  }

  /**
   * Our own server hears of it first: that it answers also says that there is a connection, for
   * what the browser does then cannot be seen from here, nor taken back.
   */
  async send(): Promise<void> {
    if (this.state === 'busy') return;
    this.state = 'busy';
    const isHeard = await this.page.attempt(() => this.page.call(api.handIn));
    this.state = isHeard ? 'busy' : 'late';
    if (!isHeard) return;
    setTimeout(() => (this.state = 'late'), PATIENCE);
    leaveFor(this.handIn);
  }

  /** The browser has brought the page back as it was. */
  cameBack(): void {
    this.state = 'late';
  }
}

/** Goes to the platform. */
export function leaveFor({ kind, address, fields = {} }: HandIn): void {
  if (kind === 'address') location.assign(address);
  else post(address, fields);
}

/** A form in this frame: a platform takes work from the browser alone, and tells us nothing. */
function post(address: string, fields: Record<string, string>): void {
  const form = document.createElement('form');
  form.method = 'post';
  form.action = address;
  form.hidden = true;
  for (const [name, value] of Object.entries(fields)) {
    const field = document.createElement('input');
    field.type = 'hidden';
    field.name = name;
    field.value = value;
    form.append(field);
  }
  document.body.append(form);
  // A field may be called `submit`.
  HTMLFormElement.prototype.submit.call(form);
}
