/** Stops the infrastructure that the global set-up started. */
export default async function tearDown(): Promise<void> {
  const running = Reflect.get(globalThis, '__rolecallParts') as AsyncDisposable | undefined;
  await running?.[Symbol.asyncDispose]();
}
