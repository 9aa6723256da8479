/** Does what the browser of a user does who agrees on the page of an authorization server. */
export async function agree(page: string): Promise<void> {
  const agreed = await fetch(page, { redirect: 'manual' });
  await fetch(agreed.headers.get('location') ?? '');
}
