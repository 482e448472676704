/** Tracks which rows of a list lie in the window's view. */
import { rowsInView, type Rows } from './rows';

export class InView {
  rows = $state.raw<Rows>({ first: 0, end: 0 });
  width = $state(0);

  private element: HTMLElement | null = null;
  private frame = 0;
  private rowHeight = 1;
  private nRows = 0;

  /** For `{@attach}` on the element that is as high as all rows together. */
  attach = (element: HTMLElement): (() => void) => {
    this.element = element;
    const observer = new ResizeObserver(() => {
      this.width = element.clientWidth;
      this.look();
    });
    observer.observe(element);
    observer.observe(document.documentElement);
    const scrolled = () => {
      this.frame ||= requestAnimationFrame(() => this.look());
    };
    addEventListener('scroll', scrolled, { passive: true, capture: true });
    return () => {
      observer.disconnect();
      removeEventListener('scroll', scrolled, { capture: true });
      cancelAnimationFrame(this.frame);
    };
  };

  measure(rowHeight: number, nRows: number): void {
    this.rowHeight = rowHeight;
    this.nRows = nRows;
    this.look();
  }

  private look(): void {
    this.frame = 0;
    if (!this.element) return;
    const { top } = this.element.getBoundingClientRect();
    const rows = rowsInView(top, innerHeight, this.rowHeight, this.nRows);
    if (rows.first !== this.rows.first || rows.end !== this.rows.end) this.rows = rows;
  }
}
