/** The package's types cover its main entry, which needs Node, and not this file of it. */
declare module 'swagger-ui-dist/swagger-ui-es-bundle.js' {
  import type { SwaggerUIBundle } from 'swagger-ui-dist';
  const SwaggerUI: SwaggerUIBundle;
  export default SwaggerUI;
}
