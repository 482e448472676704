// Pages are built with Swagger UI, whose licence wants its notice to go with it.
import { copyFileSync, mkdirSync } from 'node:fs';

const from = new URL('../node_modules/swagger-ui-dist/', import.meta.url);
const to = new URL('../../app/static/build/swagger-ui/', import.meta.url);
mkdirSync(to, { recursive: true });
for (const name of ['LICENSE', 'NOTICE']) copyFileSync(new URL(name, from), new URL(name, to));
