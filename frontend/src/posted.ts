/**
 * On pages that answer a form: the form's page takes their address, so that a reload reads it again
 * instead of asking whether the form should be sent once more.
 */
import { addressAfterPost } from './lib/addressAfterPost';

const given = document.querySelector<HTMLMetaElement>('meta[name="reload-address"]')?.content ?? '';
history.replaceState(
  history.state,
  '',
  addressAfterPost(given, document.referrer, location.origin),
);
