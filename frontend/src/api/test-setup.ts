/** Tests run without a browser: requests need to know where the page is. */
globalThis.location ??= new URL('http://likewise.test/') as unknown as Location;
