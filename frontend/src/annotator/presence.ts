/** Tells the server that the page is open still: who holds an assignment must not lose it. */

const EVERY = 20_000;

export class Presence {
  private timer: ReturnType<typeof setInterval> | undefined;

  /** tell: whether the page is being left */
  constructor(private readonly tell: (left: boolean) => void) {}

  start(): void {
    this.beat();
    addEventListener('pagehide', () => {
      clearInterval(this.timer);
      this.tell(true);
    });
    addEventListener('pageshow', (event) => {
      if (!event.persisted) return;
      this.tell(false);
      this.beat();
    });
  }

  private beat(): void {
    clearInterval(this.timer);
    this.timer = setInterval(() => this.tell(false), EVERY);
  }
}
