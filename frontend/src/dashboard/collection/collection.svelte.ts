/** The collection of the page; it may not exist until its first file comes. */
import { api, collectionApi, reply } from '../../api/client';

export class PageCollection {
  id = $state('');
  name = $state('');
  /** The name is the page's suggestion, which a dropped folder's name may replace. */
  suggested = true;

  private creating: Promise<string> | null = null;

  constructor(id: string, name: string) {
    this.id = id;
    this.name = name;
  }

  get root(): string {
    return `/api/v1/collections/${this.id}`;
  }

  /** The id, after creating it if need be; the page's address becomes the collection's. */
  ensure(title = ''): Promise<string> {
    if (this.id) return Promise.resolve(this.id);
    if (title && this.suggested) this.name = title.slice(0, 200);
    this.creating ??= this.create().finally(() => (this.creating = null));
    return this.creating;
  }

  private async create(): Promise<string> {
    const made = await reply(api().POST('/collections', { body: { name: this.name } }));
    this.name = made.name;
    this.id = made.id;
    history.replaceState(null, '', `/collections/${made.id}`);
    this.entitle();
    return made.id;
  }

  async rename(name: string): Promise<void> {
    const renamed = await reply(collectionApi(this.id).PATCH('', { body: { name } }));
    this.name = renamed.name;
    this.entitle();
  }

  private entitle(): void {
    document.title = `${this.name} · Likewise`;
  }
}
