/** The form for new issues of a code host, which is opened and not sent to. */
export const isIssueForm = (to: string): boolean => new URL(to).pathname.endsWith('/issues/new');

/** Sends what a reader says about the page that is open. Returns whether it arrived. */
export async function sendFeedback(
  to: string,
  said: { message: string } | { helpful: boolean },
): Promise<boolean> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ page: window.location.pathname, ...said });
  return fetch(to, { method: 'POST', headers, body }).then(
    ({ ok }) => ok,
    () => false,
  );
}
