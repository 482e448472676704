/** What the button under a task does: submit a grid, or check a practice one. */
export interface Submission {
  readonly label: string;
  readonly busyLabel: string;
  readonly busy: boolean;
  /** Busy, but not because anything is on its way: there is nothing to wait for. */
  readonly closed?: boolean;
  readonly error: string;
  /** How much of the assignment is done. */
  readonly progress?: string;
  /** Whether leftovers are to be confirmed. */
  readonly asksAboutLeftovers: boolean;
  send(): void;
}
