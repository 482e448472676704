/** The types name the package's bundles; this is the file of one of them. */
declare module 'swagger-ui-dist/swagger-ui-es-bundle.js' {
  import type { SwaggerUIBundle } from 'swagger-ui-dist';
  const SwaggerUI: SwaggerUIBundle;
  export default SwaggerUI;
}
