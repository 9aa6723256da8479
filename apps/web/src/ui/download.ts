/** Saves a text in the user's download directory. */
export function download(text: string, file: string, mediaType = 'text/plain'): void {
  const url = URL.createObjectURL(new Blob([text], { type: mediaType }));
  const link = document.createElement('a');
  link.href = url;
  link.download = file;
  link.click();
  URL.revokeObjectURL(url);
}
