package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	ctx := context.Background()
	var lock sync.Mutex
	progress := []float64{}
	client := mcp.NewClient(&mcp.Implementation{Name: "compatibility", Version: "1.0.0"}, &mcp.ClientOptions{
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			content := &mcp.TextContent{Text: "a completion"}
			return &mcp.CreateMessageResult{Model: "test", Role: "assistant", Content: content}, nil
		},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"response": "an answer"}}, nil
		},
		ProgressNotificationHandler: func(_ context.Context, request *mcp.ProgressNotificationClientRequest) {
			lock.Lock()
			defer lock.Unlock()
			progress = append(progress, request.Params.Progress)
		},
	})
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: os.Args[1]}, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	listed, err := session.ListTools(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	tools := []string{}
	for _, tool := range listed.Tools {
		tools = append(tools, tool.Name)
	}
	call := func(name string, given map[string]any) string {
		params := &mcp.CallToolParams{Name: name, Arguments: given, Meta: mcp.Meta{}}
		params.SetProgressToken(name)
		result, err := session.CallTool(ctx, params)
		if err != nil {
			log.Fatal(name, ": ", err)
		}
		return result.Content[0].(*mcp.TextContent).Text
	}
	call("test_tool_with_progress", map[string]any{})
	observed := map[string]any{
		"tools":       tools,
		"text":        call("test_simple_text", map[string]any{}),
		"error":       call("test_error_handling", map[string]any{}),
		"elicitation": call("test_elicitation", map[string]any{"message": "What is it?"}),
		"sampling":    call("test_sampling", map[string]any{"prompt": "Complete this."}),
	}
	lock.Lock()
	observed["progress"] = progress
	lock.Unlock()
	text, err := json.Marshal(observed)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
}
