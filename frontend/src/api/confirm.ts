import { mount, unmount } from 'svelte';
import ConfirmIdentity from './ConfirmIdentity.svelte';

/** Whether the requester confirmed who they are; false when they left the question. */
export function confirmIdentity(reason: string): Promise<boolean> {
  return new Promise((resolve) => {
    const onclose = (confirmed: boolean) => {
      resolve(confirmed);
      void unmount(question);
    };
    const question = mount(ConfirmIdentity, { target: document.body, props: { reason, onclose } });
  });
}
