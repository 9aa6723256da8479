/** Agrees on the page of an authorization server, as a user does in a browser. */
export async function agree(page: string): Promise<void> {
  const agreed = await fetch(page, { redirect: 'manual' });
  await fetch(agreed.headers.get('location') ?? '');
}
